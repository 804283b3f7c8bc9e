// SPDX-License-Identifier: MIT
// The panels below the picture, each with two sentences and the source of its formula.
import { html, nothing, svg } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { rowOf } from '../../draw/classes.js';
import { css as colour, type Palette } from '../../draw/palette.js';
import { curvesPanel as sweepPanel } from '../../panels/curves.js';
import { panel, plainPanel, waiting } from '../../panels/panel.js';
import { csvOf } from '../../panels/save.js';
import { averageCase } from '../../panels/sources.js';
import { tidy } from '../../panels/words.js';
import { pixelUnit } from '../controls.js';
import type { Parts } from '../lab-element.js';
import type { Answers } from '../lab-session.js';
import type { Plane } from './answers.js';
import { previewStrip } from './copies.js';
import type { Label } from './number.js';
import { boundaryPath, paintDirection, paintPlane, planeNames } from './paint.js';
import { toImageData, type Picture } from './picture.js';
import './pixels.js';
import type { ImageValues } from './session.js';
import type { Ui } from './ui.js';

export interface FigureParts extends Parts<Answers<ImageValues>, Ui> {
  picture: Picture;
  label: Label;
  /** Whether the model has usable gradients. */
  gradients: boolean;
}

export function previewsPanel({ store, answers, picture }: FigureParts) {
  const { previews, curves, quick } = answers;
  const { imageCopies, imageSigma } = store.state;
  const target = quick?.value.row.target;
  return plainPanel({
    id: 'previews',
    title: 'Noise scales',
    words:
      'The same noise at five scales, each with the share of noisy samples that keep the prediction. Press one to use its sigma.',
    content: guard([previews?.value, curves?.value, picture, target, imageCopies, imageSigma], () =>
      previewStrip({
        ...{ previews: previews?.value, curves: curves?.value, shape: picture, target, copies: imageCopies, sigma: imageSigma },
        onSigma: (sigma) => store.set({ imageSigma: sigma }),
      }),
    ),
    source: html`x + σ ε with ε ~ N(0, I), sigma in units of pixels from 0 (black) to 1 (white): definition 1 of ${averageCase}.`,
  });
}

const picturesWidth = 380;
const side = 182;

/** Draws pixels inside an SVG. A data URL would need a content security policy that allows it. */
const pixels = (image: ImageData, x: number, y: number, width: number) => svg`
  <foreignObject x=${x} y=${y} width=${width} height=${(width * image.height) / image.width}><probust-pixels .image=${image}></probust-pixels></foreignObject>`;

const framed = (image: ImageData, x: number, title: string) => svg`
  <text class="strong" x=${x} y="14">${title}</text>
  ${pixels(image, x, 22, side)}
  <rect x=${x} y="22" width=${side} height=${(side * image.height) / image.width} .style=${'fill: none; stroke: var(--line)'}></rect>`;

const pair = (left: ReturnType<typeof svg>, right: ReturnType<typeof svg>, { height, width }: Picture, title: string) => svg`
  <svg class="chart" viewBox="0 0 ${picturesWidth} ${26 + (side * height) / width}" role="img" aria-label=${title}>${left}${right}</svg>`;

/** The negative gradient of the margin over the selected rival; undefined if there is none. */
function towards({ answers, ui }: FigureParts, length: number): Float32Array | undefined {
  const linear = answers.quick?.value.linear;
  if (!linear || ui.rival === undefined || ui.rival === linear.target) return undefined;
  const row = rowOf(ui.rival, linear.target);
  return linear.gradients.subarray(row * length, (row + 1) * length).map((value) => -value);
}

const added = (picture: Picture, step: ArrayLike<number>): Picture => ({
  ...picture,
  values: picture.values.map((value, i) => Math.min(1, Math.max(0, value + step[i]!))),
});

function directionFigure(parts: FigureParts) {
  const { answers, picture, palette, ui, label } = parts;
  const { boundary } = answers.listed!.value;
  if (!boundary) return html`<p>Not available: without gradients, the search would take thousands of passes.</p>`;
  const direction = towards(parts, picture.values.length);
  if (!direction && boundary.rival < 0) return html`<p>No different prediction was found near this image.</p>`;
  const leads = direction ? ui.rival! : boundary.rival;
  return pair(
    framed(paintDirection(picture, direction ?? boundary.step, palette), 0, `towards ${label(leads)}`),
    framed(toImageData(added(picture, boundary.step)), picturesWidth - side, `the nearest image: ${label(boundary.rival)}`),
    picture,
    `The direction towards ${label(leads)}, and the nearest image with a different prediction, ${label(boundary.rival)}`,
  );
}

export function boundaryPanel(parts: FigureParts) {
  const { answers, key, store, picture, ui, label } = parts;
  const { listed } = answers;
  const boundary = listed?.value.boundary;
  const typical = store.state.imageSigma * Math.sqrt(picture.values.length);
  const far = boundary && Number.isFinite(boundary.distance);
  return panel({
    id: 'boundary',
    title: 'The worst case',
    words:
      'The shortest step to a different prediction: warm pixels become brighter, cold ones darker. It is hardly visible in the image, and random noise almost never points in this direction.',
    // Painted only if its inputs change, because it takes longer than a frame.
    figure: listed
      ? guard(
          [
            listed.value,
            store.state.imageNames,
            ui.rival,
            ui.rival === undefined || answers.quick?.value,
            picture,
            parts.palette,
          ],
          () => directionFigure(parts),
        )
      : waiting,
    stale: listed?.key !== key || answers.quick?.key !== key,
    controls: far
      ? html`<p class="small" data-distance=${boundary.distance}>
          The nearest different prediction, ${label(boundary.rival)}, is <b>${tidy(boundary.distance)}</b> away. Noise of sigma
          ${tidy(store.state.imageSigma)} moves the image about <b>${tidy(typical)}</b> (σ√d), in a random direction.
          ${
            ui.rival === undefined
              ? nothing
              : html`<button class="chip" @click=${() => parts.point({ rival: undefined })}>show the nearest boundary</button>`
          }
        </p>`
      : nothing,
    source: html`DeepFool: <cite>Moosavi-Dezfooli, Fawzi and Frossard, 2016</cite>; worst against average case:
      <cite>Scher and Trügler</cite>, figures 1 and 2.`,
  });
}

const planeSize = 380;

function planeCopies({ copies, predicted, slice }: Plane, target: number, palette: Palette) {
  const at = (value: number) => ((value / slice.reach + 1) / 2) * planeSize;
  return Array.from(predicted, (of, i) => {
    const [x, y] = [at(copies[2 * i]!), planeSize - at(copies[2 * i + 1]!)];
    return of === target
      ? svg`<circle cx=${x} cy=${y} r="2.6" .style="fill: ${colour(palette.ink, 0.5)}; stroke: none"></circle>`
      : svg`<circle cx=${x} cy=${y} r="3.6" .style=${'fill: var(--paper); stroke: var(--ink); stroke-width: 1.6'}></circle>`;
  });
}

/** The axis for both directions, which have the same scale. */
const planeAxis = (reach: number) => svg`<g class="axis">
    <text x="0" y=${planeSize + 17}>−${tidy(reach, 2)}</text>
    <text x=${planeSize / 2} y=${planeSize + 17} text-anchor="middle">0</text>
    <text x=${planeSize} y=${planeSize + 17} text-anchor="end">${tidy(reach, 2)}</text>
    <text class="label" x=${planeSize / 2} y=${planeSize + 33} text-anchor="middle">distance from the image, in ${pixelUnit}</text>
  </g>`;

function planeFigure({ slice, step, ...rest }: Plane, target: number, palette: Palette, label: Label) {
  const at = (value: number) => ((value / slice.reach + 1) / 2) * planeSize;
  const middle = planeSize / 2;
  const way = (colour: string, width: number) =>
    step &&
    svg`<line x1=${middle} y1=${middle} x2=${at(step[0])} y2=${planeSize - at(step[1])} .style="stroke: ${colour}; stroke-width: ${width}"></line>`;
  return svg`<svg class="chart" viewBox="0 0 ${planeSize} ${planeSize + 36}" role="img"
      aria-label="Decision regions on a plane through the image, with the noisy samples projected onto it">
    ${pixels(paintPlane(slice, planeSize, palette), 0, 0, planeSize)}
    <path d=${boundaryPath(slice, planeSize)} .style=${'stroke: var(--ink); stroke-width: 1.5; fill: none'}></path>
    <svg width=${planeSize} height=${planeSize}>${planeCopies({ slice, step, ...rest }, target, palette)}</svg>
    ${planeNames(slice, planeSize).map(
      ({ of, x: left, y: top }) =>
        svg`<text class="strong place" x=${left} y=${top + 6} text-anchor="middle">${label(of)}</text>`,
    )}
    ${way('var(--paper)', 5)} ${way('var(--ink)', 2.25)}
    <circle cx=${middle} cy=${middle} r="6" .style=${'fill: var(--accent); stroke: var(--paper); stroke-width: 2'}></circle>
    ${planeAxis(slice.reach)}
    <rect x="0.5" y="0.5" width=${planeSize - 1} height=${planeSize - 1} .style=${'fill: none; stroke: var(--muted)'}></rect>
  </svg>`;
}

export function planePanel({ store, answers, key, palette, gradients, label }: FigureParts) {
  const { plane, quick } = answers;
  return panel({
    id: 'plane',
    title: 'A slice through the image',
    words:
      'The predictions on a plane through the image (blue dot), and the noisy samples projected onto it. Rings are samples whose prediction changed. Most of the noise points out of the plane, so rings also appear in regions that look safe.',
    figure:
      plane && quick
        ? guard([plane.value, quick.value.row.target, palette, store.state.imageNames], () =>
            planeFigure(plane.value, quick.value.row.target, palette, label),
          )
        : waiting,
    stale: plane?.key !== key,
    source: gradients
      ? html`The plane is spanned by the gradients of the two smallest margins, made orthonormal; the line leads to the nearest
        boundary. Margins: section 3.2 of ${averageCase}.`
      : html`The plane is spanned by the noise of the first two samples, because there are no gradients. Margins: section 3.2 of
        ${averageCase}.`,
    csv:
      plane &&
      (() => {
        const { copies, predicted } = plane.value;
        return csvOf(Array.from(predicted, (of, i) => ({ u: copies[2 * i], v: copies[2 * i + 1], predicted: of })));
      }),
  });
}

export function curvesPanel({ store, answers, key, ui, point }: FigureParts) {
  const { curves } = answers;
  const { imageSigma: sigma, failure } = store.state;
  const forms = curves ? [...curves.value.byEstimator.keys()] : [];
  const known = forms.filter((form, i) => i === 0 || curves!.value.byEstimator.get(form)!.some(({ p }) => p !== null));
  const entries = known.map((form) => {
    const at = forms.indexOf(form);
    return at === 0 ? { form, line: undefined, name: `${form}, reference` } : { form, line: at - 1 };
  });
  return sweepPanel({
    ...{
      curves: curves?.value,
      unit: pixelUnit,
      stale: curves?.key !== key,
      entries,
      sigma,
      failure,
      hovered: ui.form,
      read: ui.readSigma,
    },
    onFailure: (failure) => store.set({ failure }),
    onRead: (readSigma) => point({ readSigma }),
    onSigma: (imageSigma) => store.set({ imageSigma }),
    onHover: (form) => point({ form }),
  });
}
