// SPDX-License-Identifier: MIT
// Caches the site for use without a network. Files whose names have a hash never change, so they come from the cache; all other
// files come from the network if it is available. offline.json, which the build writes, lists the files.
const cacheName = 'probust';

/** Fetches missing files, and deletes files that the site no longer has. */
async function keep(which) {
  const cache = await caches.open(cacheName);
  const lists = await (await fetch('./offline.json', { cache: 'no-store' })).json();
  const wanted = which === 'all' ? [...lists.pages, ...lists.files] : lists.pages;
  for (const file of wanted) if (!(await cache.match(file))) await cache.add(file).catch(() => undefined);
  const known = new Set([...lists.pages, ...lists.files].map((file) => new URL(file, location.href).href));
  for (const request of await cache.keys()) if (!known.has(request.url.replace(/[?#].*/, ''))) await cache.delete(request);
}

self.addEventListener('install', (event) => event.waitUntil(keep('pages').then(() => self.skipWaiting())));
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('message', ({ data }) => data === 'keep all' && keep('all').catch(() => undefined));

async function fetched(cache, request) {
  const response = await fetch(request);
  if (response.ok) await cache.put(request.url.replace(/[?#].*/, ''), response.clone());
  return response;
}

async function answer(request) {
  const cache = await caches.open(cacheName);
  const known = await cache.match(request, { ignoreSearch: true, ignoreVary: true });
  if (known && /\/assets\//.test(request.url)) return known;
  try {
    return await fetched(cache, request);
  } catch (error) {
    const page = request.mode === 'navigate' ? await cache.match('./index.html') : undefined;
    if (known ?? page) return known ?? page;
    throw error;
  }
}

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const own = request.method === 'GET' && new URL(request.url).href.startsWith(new URL('./', location.href).href);
  if (own && !request.headers.has('range')) event.respondWith(answer(request));
});
