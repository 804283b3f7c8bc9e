// SPDX-License-Identifier: MIT
// base64 of a gzipped module, which build.mjs puts in.
declare module 'probust.wasm.gz' {
  const packed: string;
  export default packed;
}
