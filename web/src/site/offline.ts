// SPDX-License-Identifier: MIT
// Use without a network after the first visit. What the first answer does not need is fetched when the page has been idle.
const idleMilliseconds = 4000;

const saves = (): boolean => (navigator as { connection?: { saveData?: boolean } }).connection?.saveData === true;

async function start(): Promise<void> {
  await navigator.serviceWorker.register('./sw.js');
  const { active } = await navigator.serviceWorker.ready;
  if (!saves()) active?.postMessage('keep all');
}

/** Errors are no problem: the site works without. */
export function keepOffline(): void {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  addEventListener('load', () => setTimeout(() => start().catch(() => undefined), idleMilliseconds), { once: true });
}
