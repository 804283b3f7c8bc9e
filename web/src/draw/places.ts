// SPDX-License-Identifier: MIT
// Where to write the names of regions.

/** A point, and the class there. */
export interface Place {
  of: number;
  x: number;
  y: number;
}

/**
 * For each class, the place with the most room, which is the distance to the nearest place of another class, but at most
 * `toEdge`. A class whose room is at most `least` gets no place.
 */
export function roomiest(places: readonly Place[], toEdge: (place: Place) => number, least: number): Place[] {
  const room = (place: Place) =>
    places.reduce(
      (nearest, { of, x, y }) => (of === place.of ? nearest : Math.min(nearest, Math.hypot(x - place.x, y - place.y))),
      toEdge(place),
    );
  const best = new Map<number, { place: Place; room: number }>();
  for (const place of places) {
    const found = room(place);
    if (found > (best.get(place.of)?.room ?? least)) best.set(place.of, { place, room: found });
  }
  return [...best.values()].map(({ place }) => place);
}
