// SPDX-License-Identifier: MIT
import { environment } from './errors.js';
import { firstNamespace, isWhole, partNames, placeholders, type Modules, type PartName } from './parts.js';
import type { ModuleFactory, RawModule } from './raw.js';

/** A running module. */
export interface Instance {
  readonly raw: RawModule;
  readonly parts: ReadonlySet<PartName>;
  /**
   * If a missing function was called, the part that contains it. That call was interrupted, so the instance must not be used
   * again.
   */
  readonly lacks: PartName | undefined;
}

const notOurs = (error: unknown) => {
  const hint = 'set wasmUrl to the probust.wasm of this version';
  return environment(`the WebAssembly module does not start (${String(error)})`, hint, error);
};

/** Starts a module from these parts. The later parts fill in their entries of the first part's function table. */
export async function instantiate(factory: ModuleFactory, modules: Modules, threads: number): Promise<Instance> {
  const first = modules.get('first')!;
  const state = {
    parts: new Set(isWhole(first) ? partNames : modules.keys()),
    lacks: undefined as PartName | undefined,
  };
  const missing = (part: PartName) => () => {
    state.lacks = part;
    throw new Error(`the part '${part}' of the module is not loaded`);
  };
  const start = async (imports: WebAssembly.Imports): Promise<WebAssembly.Instance> => {
    const lacking = partNames.map((part) => [placeholders(part), new Proxy({}, { get: () => missing(part) })]);
    const instance = await WebAssembly.instantiate(first, { ...imports, ...Object.fromEntries(lacking) });
    for (const [part, module] of modules) {
      if (part !== 'first') await WebAssembly.instantiate(module, { [firstNamespace]: instance.exports });
    }
    return instance;
  };
  const raw = await new Promise<RawModule>((resolve, fail) => {
    const reject = (error: unknown) => fail(notOurs(error));
    const instantiateWasm: Parameters<ModuleFactory>[0]['instantiateWasm'] = (imports, receive) => {
      start(imports)
        .then((instance) => receive(instance, first))
        .catch(reject);
      return {};
    };
    // In some versions of Emscripten, the object that the glue returns has its own `then`, so it must not be awaited twice.
    factory({ instantiateWasm, threads }).then((made) => resolve(made), reject);
  });
  return Object.assign(state, { raw });
}
