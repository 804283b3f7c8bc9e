// SPDX-License-Identifier: MIT
// The gzipped module in base64; build.mjs inserts it.
declare module 'probust.wasm.gz' {
  const packed: string;
  export default packed;
}
