// SPDX-License-Identifier: MIT
// Saves figures and tables as files.

function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export const saveText = (text: string, name: string, type: string): void => saveBlob(new Blob([text], { type }), name);

const drawn = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity', 'font-size', 'font-family', 'font-weight'];

/** A document without a window. It loads no images, and the page's content security policy does not apply to it. */
const inert = document.implementation.createHTMLDocument();

/** An SVG image with the pixels of the canvas inside `from`. */
function imageOf(from: SVGForeignObjectElement): SVGImageElement {
  const image = inert.createElementNS('http://www.w3.org/2000/svg', 'image');
  for (const name of ['x', 'y', 'width', 'height']) image.setAttribute(name, from.getAttribute(name)!);
  image.setAttribute('preserveAspectRatio', 'none');
  image.style.imageRendering = 'pixelated';
  image.setAttribute('href', from.firstElementChild!.shadowRoot!.querySelector('canvas')!.toDataURL());
  return image;
}

/** A standalone SVG, into which the computed styles are written. */
function svgText(figure: SVGSVGElement): string {
  const copy = inert.importNode(figure, true);
  const from = [figure, ...figure.querySelectorAll<SVGElement>('*')];
  [copy, ...copy.querySelectorAll<SVGElement>('*')].forEach((element, i) => {
    const style = getComputedStyle(from[i]!);
    for (const name of drawn) element.style.setProperty(name, style.getPropertyValue(name));
  });
  const canvases = figure.querySelectorAll('foreignObject');
  copy.querySelectorAll('foreignObject').forEach((each, i) => each.replaceWith(imageOf(canvases[i]!)));
  const { width, height } = figure.viewBox.baseVal;
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', String(width));
  copy.setAttribute('height', String(height));
  return new XMLSerializer().serializeToString(copy).replace(/<!--.*?-->/g, '');
}

export function saveSvg(figure: SVGSVGElement | null, name: string): void {
  if (figure) saveText(svgText(figure), name, 'image/svg+xml');
}

export function savePng(canvas: HTMLCanvasElement, name: string): void {
  canvas.toBlob((blob) => blob && saveBlob(blob, name));
}

/** Rows of a table as CSV. */
export function csvOf(rows: readonly object[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (value: unknown) => {
    const text = value === null || value === undefined ? '' : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = rows.map((row) => columns.map((column) => cell((row as Record<string, unknown>)[column])).join(','));
  return [columns.join(','), ...lines].join('\n') + '\n';
}
