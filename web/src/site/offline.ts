// SPDX-License-Identifier: MIT
// Makes the site usable without a network after the first visit. Files that the first result does not need are fetched when the
// page is idle.
const idleMilliseconds = 4000;

const saves = (): boolean => (navigator as { connection?: { saveData?: boolean } }).connection?.saveData === true;

async function start(): Promise<void> {
  await navigator.serviceWorker.register('./sw.js');
  const { active } = await navigator.serviceWorker.ready;
  if (!saves()) active?.postMessage('keep all');
}

/** Errors are ignored: the site works without a service worker. */
export function keepOffline(): void {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  addEventListener('load', () => setTimeout(() => start().catch(() => undefined), idleMilliseconds), { once: true });
}
