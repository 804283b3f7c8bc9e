// SPDX-License-Identifier: MIT
// Extensions of Markdown for the site: links to files outside docs/, and figures in the colours of the page.
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type MarkdownIt from 'markdown-it';
import { docs, downloads, pageOf, root, sourceOf } from '../scripts/pages.mjs';

interface Environment {
  path: string;
  frontmatter?: { source?: string };
}

const base = process.env.PROBUST_DOCS_BASE ?? '/';
const repository = process.env.PROBUST_REPOSITORY; // such as https://github.com/NAME/probust

/**
 * Links to files become links to their pages, to downloads, or to the repository if its address is known; otherwise, only the
 * text remains.
 */
export function links(md: MarkdownIt): void {
  md.core.ruler.push('repository-links', (state) => {
    const env = state.env as Environment;
    const from = dirname(sourceOf(env.path, env.frontmatter));
    for (const { children } of state.tokens) {
      let dropped = 0;
      for (const token of children ?? []) {
        if (token.type === 'link_close' && dropped > 0) {
          --dropped;
          [token.type, token.tag, token.hidden] = ['text', '', true];
        }
        if (token.type !== 'link_open') continue;
        const href = String(token.attrGet('href'));
        if (/^([a-z]+:|\/|#)/.test(href)) continue;
        const [path, part] = href.split('#');
        const file = resolve(from, path);
        const page = pageOf(file);
        if (page !== undefined) token.attrSet('href', page + (part ? `#${part}` : ''));
        else if (downloads.includes(relative(root, file))) {
          token.attrSet('href', `${base}files/${basename(file)}`);
          token.attrSet('download', '');
        } else if (repository) token.attrSet('href', `${repository}/blob/main/${relative(root, file)}`);
        else {
          ++dropped;
          [token.type, token.tag, token.hidden] = ['text', '', true];
        }
        if (page === undefined && !existsSync(file)) throw new Error(`${env.path}: the link to ${href} leads nowhere`);
      }
    }
  });
}

/** Indented blocks look like fenced blocks, and the output of programs has no colours. */
export function blocks(md: MarkdownIt): void {
  md.core.ruler.push('indented-blocks', ({ tokens }) => {
    for (const token of tokens) {
      if (token.type === 'code_block' || token.info === 'console') [token.type, token.info] = ['fence', 'text'];
    }
  });
}

/** Short code stays on one line; long code may break, because it would otherwise widen tables. */
export function longCode(md: MarkdownIt): void {
  md.core.ruler.push('long-code', ({ tokens }) => {
    for (const { children } of tokens) {
      for (const token of children ?? []) if (token.type === 'code_inline' && token.content.length > 32) token.attrJoin('class', 'long');
    }
  });
}

/** SVG files in docs/figures become part of the page, so that figures follow its theme. */
export function figures(md: MarkdownIt): void {
  const image = md.renderer.rules.image!;
  md.renderer.rules.image = (tokens, i, options, env, self) => {
    const source = String(tokens[i]!.attrGet('src'));
    if (!/(^|\/)figures\/[^/]+\.svg$/.test(source)) return image(tokens, i, options, env, self);
    const svg = readFileSync(resolve(dirname((env as Environment).path), source), 'utf8');
    const label = md.utils.escapeHtml(tokens[i]!.content);
    return `<span class="figure-box" v-pre>${svg.replace('<svg ', `<svg role="img" aria-label="${label}" `).trim()}</span>`;
  };
}

/** Whether the explorer and the C++ reference are part of this build. */
export const built = (name: string): boolean => existsSync(join(docs, 'public', name));
