// SPDX-License-Identifier: MIT
// Builds small ONNX models, for workloads and tests.
import { encode, integer, message, parse, text, type Field } from '../src/protobuf.js';

type Dim = number | string;

const tensorType = (elementType: number, dims: readonly Dim[]) => {
  const shape = dims.map((dim) => message(1, [typeof dim === 'number' ? integer(1, dim) : text(2, dim)]));
  return message(2, [message(1, [integer(1, elementType), message(2, shape)])]);
};

/** An input or output of a graph; element type 1 is float32. */
export const port = (name: string, dims: readonly Dim[], elementType = 1): Field[] => [
  text(1, name),
  tensorType(elementType, dims),
];

const raw = (bytes: ArrayBufferLike): Field => ({ number: 9, wire: 2, value: new Uint8Array(bytes) });
const dims = (shape: readonly number[]) => shape.map((extent) => integer(1, extent));

export const floats = (name: string, shape: readonly number[], values: readonly number[]): Field[] => [
  ...dims(shape),
  integer(2, 1),
  text(8, name),
  raw(Float32Array.from(values).buffer),
];

export const longs = (name: string, values: readonly number[]): Field[] => [
  integer(1, values.length),
  integer(2, 7),
  text(8, name),
  raw(BigInt64Array.from(values, BigInt).buffer),
];

export interface NodeText {
  op: string;
  inputs: string[];
  output: string;
  domain?: string;
  attributes?: Record<string, number | number[]>;
}

/** An attribute whose value is an integer or a list of integers. */
function attribute(name: string, value: number | number[]): Field {
  const several = Array.isArray(value);
  const values = several ? value.map((each) => integer(8, each)) : [integer(3, value)];
  return message(5, [text(1, name), ...values, integer(20, several ? 7 : 2)]);
}

const node = ({ op, inputs, output, domain, attributes = {} }: NodeText): Field =>
  message(1, [
    ...inputs.map((name) => text(1, name)),
    text(2, output),
    text(3, `the ${op}`),
    text(4, op),
    ...Object.entries(attributes).map(([name, value]) => attribute(name, value)),
    ...(domain ? [text(7, domain)] : []),
  ]);

export interface GraphText {
  inputs: Field[][];
  outputs: Field[][];
  constants: Field[][];
  nodes: NodeText[];
  /** metadata_props */
  properties?: Record<string, string>;
}

export function onnx({ inputs, outputs, constants, nodes, properties = {} }: GraphText): Uint8Array {
  const graph = [
    ...nodes.map(node),
    text(2, 'by hand'),
    ...constants.map((each) => message(5, each)),
    ...inputs.map((each) => message(11, each)),
    ...outputs.map((each) => message(12, each)),
  ];
  const opset = (domain: string, version: number) => message(8, [...(domain ? [text(1, domain)] : []), integer(2, version)]);
  const entries = Object.entries(properties).map(([key, value]) => message(14, [text(1, key), text(2, value)]));
  return encode([integer(1, 8), message(7, graph), opset('', 13), opset('com.microsoft', 1), ...entries]);
}

/** The weights W [4, 3] of `classifier`, a model whose `nodes` compute y from four numbers x. */
export const weights = [1, -2, 0.5, 0.25, 1, -1, -0.5, 0.75, 2, 1.5, -0.25, 0.1];
export const classifier = (
  nodes: NodeText[],
  { batch = 'N' as Dim, constants = [] as Field[][], output = ['N', 3] as Dim[] } = {},
) =>
  onnx({
    inputs: [port('x', [batch, 4])],
    outputs: [port('y', output)],
    constants: [floats('W', [4, 3], weights), ...constants],
    nodes,
  });

/** The model with `by` added to the first element of its last constant (in the demo's model, the bias of the first class). */
export function altered(model: Uint8Array, by: number): Uint8Array {
  const isGraph = ({ number }: Field) => number === 7;
  const graph = parse(parse(model).find(isGraph)!.value as Uint8Array);
  const last = graph.findLast(({ number }) => number === 5)!;
  const tensor = parse(last.value as Uint8Array).map((field) => {
    if (field.number !== 9) return field;
    const value = Uint8Array.from(field.value as Uint8Array);
    const view = new DataView(value.buffer);
    view.setFloat32(0, view.getFloat32(0, true) + by, true);
    return { ...field, value };
  });
  const changed = graph.map((field) => (field === last ? message(5, tensor) : field));
  return encode(parse(model).map((field) => (isGraph(field) ? message(7, changed) : field)));
}
