// SPDX-License-Identifier: MIT
declare module '*.onnx?inline' {
  /** A data URL. */
  const url: string;
  export default url;
}

declare module '*.csv?raw' {
  const text: string;
  export default text;
}
