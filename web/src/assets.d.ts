// SPDX-License-Identifier: MIT
declare module '*.onnx?inline' {
  /** The file as a data URL. */
  const url: string;
  export default url;
}

declare module '*.csv?raw' {
  const text: string;
  export default text;
}
