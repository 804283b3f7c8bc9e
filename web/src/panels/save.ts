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

/** A standalone SVG, into which the computed styles are written. */
function svgText(figure: SVGSVGElement): string {
  const copy = figure.cloneNode(true) as SVGSVGElement;
  const from = [figure, ...figure.querySelectorAll<SVGElement>('*')];
  [copy, ...copy.querySelectorAll<SVGElement>('*')].forEach((element, i) => {
    const style = getComputedStyle(from[i]!);
    for (const name of drawn) element.style.setProperty(name, style.getPropertyValue(name));
  });
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
