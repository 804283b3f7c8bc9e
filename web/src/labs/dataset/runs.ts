// SPDX-License-Identifier: MIT
// Reads the rows of a run: the SQLite file that `probust estimate -o RUN.sqlite` writes.
import type { Row } from 'probust';
import { readRows } from 'probust/data';
import initSqlJs, { type Database } from 'sql.js';
import sqliteUrl from 'sql.js/dist/sql-wasm-browser.wasm?url';

/** Byte 18 of an SQLite file is 2 in WAL mode, in which the newest rows may still be in the -wal file. */
const inWalMode = 2;

/** Reads the run's view that has the columns of a .jsonl file, except the probabilities of the classes, which are binary. */
function linesOf(database: Database): string {
  const statement = database.prepare('SELECT * FROM estimates');
  const lines: string[] = [];
  while (statement.step()) {
    const { model, ...fields } = statement.getAsObject();
    lines.push(JSON.stringify({ ...fields, classes: undefined, model: model || undefined }));
  }
  return lines.join('\n');
}

/** All rows, as the command line exports them. */
export async function readRun(file: File): Promise<Row[]> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes[18] === inWalMode) {
    throw new Error(
      `${file.name} is incomplete: some of its rows are still in ${file.name}-wal. Wait until the command has finished.`,
    );
  }
  const { Database } = await initSqlJs({ locateFile: () => sqliteUrl });
  const database = new Database(bytes);
  let lines: string;
  try {
    lines = linesOf(database);
  } catch (error) {
    throw new Error(`${file.name} is not a probust run: it has no estimates.`, { cause: error });
  } finally {
    database.close();
  }
  return readRows(new File([lines], file.name));
}
