// SPDX-License-Identifier: MIT
// Converts errors to text for users.

/** The messages of Chromium, Firefox and Safari for a file that cannot be loaded. */
const unreachable = /failed to fetch|networkerror|load failed|module script failed|dynamically imported module/i;

export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return unreachable.test(text) ? 'A file cannot be loaded. Check your connection, then reload the page.' : text;
}
