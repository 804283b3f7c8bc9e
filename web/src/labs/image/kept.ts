// SPDX-License-Identifier: MIT
// Stores the most recently opened model file in the browser, so that it is available after a reload.

interface KeptModel {
  name: string;
  bytes: Uint8Array;
}

const store = 'models';
const key = 'own';
const mostMilliseconds = 3000;

const done = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error as Error);
  });

async function opened(): Promise<IDBDatabase> {
  const request = indexedDB.open('probust', 1);
  request.onupgradeneeded = () => request.result.createObjectStore(store);
  return done(request);
}

async function within<T>(mode: IDBTransactionMode, use: (models: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await opened();
  try {
    const transaction = database.transaction(store, mode);
    const stored = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error as Error);
    });
    const [result] = await Promise.all([done(use(transaction.objectStore(store))), stored]);
    return result;
  } finally {
    database.close();
  }
}

/**
 * Stores the model, replacing any earlier one. The promise resolves when the model is stored, or after a time limit if the
 * storage does not respond. Does nothing if the browser does not allow storage.
 */
export async function keepModel(model: KeptModel): Promise<void> {
  const stored = within('readwrite', (models) => models.put(model, key)).catch(() => undefined);
  await Promise.race([stored, new Promise((resolve) => setTimeout(resolve, mostMilliseconds))]);
}

/** The stored model; undefined if there is none. */
export const keptModel = (): Promise<KeptModel | undefined> =>
  within<KeptModel | undefined>('readonly', (models) => models.get(key) as IDBRequest<KeptModel | undefined>).catch(
    () => undefined,
  );
