// SPDX-License-Identifier: MIT
// Edits ONNX models for another engine: the logits become the output, and a fixed batch becomes symbolic.
import { ProbustError, unreadable, usage } from './errors.js';
import { all, edited, encode, integerIn, messageIn, message, parse, text, texts, type Field } from './protobuf.js';

// The field numbers of ONNX messages used here.
const modelProto = { graph: 7 };
const graphProto = { node: 1, initializer: 5, input: 11, output: 12, valueInfo: 13 };
const nodeProto = { input: 1, output: 2, opType: 4, attribute: 5 };
const attributeProto = { name: 1, i: 3, t: 5 };
const valueInfoProto = { name: 1, type: 2 };
const typeProto = { tensor: 1 };
const tensorType = { elementType: 1, shape: 2 };
const shapeProto = { dim: 1 };
const dimProto = { parameter: 2 };
const tensorProto = { dataType: 2, int64s: 7, name: 8, raw: 9 };
const float32 = 1n;
const int64 = 7n;

interface Node {
  opType: string;
  inputs: string[];
  fields: Field[];
}

const attribute = ({ fields }: Node, name: string): Field[] | undefined =>
  all(fields, nodeProto.attribute)
    .map(parse)
    .find((each) => texts(each, attributeProto.name)[0] === name);

function nodesOf(graph: readonly Field[]): Map<string, Node> {
  const producers = new Map<string, Node>();
  for (const bytes of all(graph, graphProto.node)) {
    const fields = parse(bytes);
    const node = { opType: texts(fields, nodeProto.opType)[0] ?? '', inputs: texts(fields, nodeProto.input), fields };
    for (const name of texts(fields, nodeProto.output)) producers.set(name, node);
  }
  return producers;
}

/** The model with its graph edited. Throws ProbustError `unreadable` if it cannot be parsed. */
function withGraph(bytes: Uint8Array, edit: (graph: Field[]) => Field[]): Uint8Array {
  try {
    const model = parse(bytes);
    if (all(model, modelProto.graph).length !== 1) throw new RangeError('there is no graph');
    return encode(edited(model, modelProto.graph, edit));
  } catch (error) {
    if (error instanceof ProbustError) throw error;
    throw unreadable(`the model is not an ONNX model, or is damaged: ${String(error)}`, undefined, error);
  }
}

/** A model without the operators after its logits. */
export interface Cut {
  bytes: Uint8Array;
  /** The model's output, or the requested inner tensor. */
  output: string;
  /** The number of the model's outputs. */
  outputs: number;
  /** The removed operators, one sentence each. */
  notes: string[];
  /** The input of the final Sigmoid, if the output comes from one. */
  beforeSigmoid: string | undefined;
}

const rearranging = ['Identity', 'Reshape', 'Flatten', 'Squeeze', 'Unsqueeze'];

function chosenOutput(graph: readonly Field[], wanted: string | undefined, isTensor: (name: string) => boolean): string {
  const outputs = all(graph, graphProto.output).map(parse);
  const names = outputs.map((output) => texts(output, valueInfoProto.name)[0] ?? '');
  if (wanted !== undefined) {
    if (names.includes(wanted) || isTensor(wanted)) return wanted;
    throw usage(`the output '${wanted}' does not exist`, `use one of ${names.join(', ')}`);
  }
  const isFloat = (output: Field[]) => {
    const tensor = messageIn(messageIn(output, valueInfoProto.type), typeProto.tensor);
    return integerIn(tensor, tensorType.elementType) === float32;
  };
  return names[Math.max(0, outputs.findIndex(isFloat))] ?? '';
}

/** Removes a final Softmax, LogSoftmax or ArgMax: margins need logits. */
export function cutToLogits(bytes: Uint8Array, wanted?: string): Cut {
  const cut: Cut = { bytes, output: '', outputs: 0, notes: [], beforeSigmoid: undefined };
  cut.bytes = withGraph(bytes, (graph) => {
    const producers = nodesOf(graph);
    /** Skips operators that only change the shape. */
    const source = (name: string): string => {
      const node = producers.get(name);
      return node && rearranging.includes(node.opType) ? source(node.inputs[0]!) : name;
    };
    const leftOut = (name: string, ...opTypes: string[]): string => {
      const node = producers.get(source(name));
      if (!node || !opTypes.includes(node.opType)) return name;
      const axis = integerIn(attribute(node, 'axis') ?? [], attributeProto.i) ?? (node.opType === 'ArgMax' ? 0n : -1n);
      if (axis !== 1n && axis !== -1n) return name;
      cut.notes.push(`the final ${node.opType} is left out, because margins need logits`);
      return node.inputs[0]!;
    };
    cut.output = chosenOutput(graph, wanted, (name) => producers.has(name));
    cut.outputs = all(graph, graphProto.output).length;
    /** Replaces sorted scores, or their indices, with the scores of all classes, before the TopK. */
    const beforeTopK = (name: string): string => {
      const node = producers.get(source(name));
      const largest = integerIn(node ? (attribute(node, 'largest') ?? []) : [], attributeProto.i) ?? 1n;
      if (node?.opType !== 'TopK' || largest === 0n) return name;
      cut.notes.push(`'${node.inputs[0]!}' before the TopK has the scores of all classes`);
      return node.inputs[0]!;
    };
    const logits = leftOut(leftOut(beforeTopK(cut.output), 'ArgMax'), 'Softmax', 'LogSoftmax');
    const last = producers.get(source(logits));
    if (last?.opType === 'Sigmoid') cut.beforeSigmoid = last.inputs[0];
    return endingIn(graph, logits);
  });
  return cut;
}

/** The model with this value as its only output. */
export const endedIn = (bytes: Uint8Array, value: string): Uint8Array => withGraph(bytes, (graph) => endingIn(graph, value));

function endingIn(graph: readonly Field[], value: string): Field[] {
  const isOutput = ({ number }: Field) => number === graphProto.output;
  const declared = graph.find(
    (field) => isOutput(field) && texts(parse(field.value as Uint8Array), valueInfoProto.name)[0] === value,
  );
  const output = declared ?? message(graphProto.output, [text(valueInfoProto.name, value)]);
  return [...graph.filter((field) => !isOutput(field)), output];
}

/**
 * The same model with a batch of any size instead of 1: the input's first dimension becomes dynamic, constant shapes of Reshape
 * copy it, and declared inner shapes are dropped. The caller must check that the function has not changed.
 */
export function withOpenBatch(bytes: Uint8Array): Uint8Array {
  return withGraph(bytes, (graph) => {
    const constants = new Set(all(graph, graphProto.initializer).map((each) => texts(parse(each), tensorProto.name)[0]!));
    const shapes = new Set<string>();
    for (const node of new Set(nodesOf(graph).values())) {
      if (node.opType === 'Reshape' && node.inputs[1] !== undefined) shapes.add(node.inputs[1]);
    }
    const openShape = (tensor: Field[]) => (shapes.has(texts(tensor, tensorProto.name)[0]!) ? copyingFirst(tensor) : tensor);
    const open = edited(graph, graphProto.initializer, openShape);
    return edited(open, graphProto.node, (fields) => openConstant(fields, shapes))
      .filter(({ number }) => number !== graphProto.valueInfo)
      .map((field) => openPort(field, constants));
  });
}

function openPort(field: Field, constants: ReadonlySet<string>): Field {
  if (field.number !== graphProto.input && field.number !== graphProto.output) return field;
  const port = parse(field.value as Uint8Array);
  const name = texts(port, valueInfoProto.name)[0]!;
  if (constants.has(name)) return field;
  if (field.number === graphProto.output) return message(field.number, [text(valueInfoProto.name, name)]);
  const openDim = (dims: Field[]) => [message(shapeProto.dim, [text(dimProto.parameter, 'batch')]), ...dims.slice(1)];
  const openTensor = (tensor: Field[]) => edited(tensor, tensorType.shape, openDim);
  const openType = (type: Field[]) => edited(type, typeProto.tensor, openTensor);
  return message(field.number, edited(port, valueInfoProto.type, openType));
}

/** Makes the batch dynamic in the value of a Constant node that is the shape of a Reshape. */
function openConstant(fields: Field[], shapes: ReadonlySet<string>): Field[] {
  const isShape = texts(fields, nodeProto.opType)[0] === 'Constant' && shapes.has(texts(fields, nodeProto.output)[0]!);
  if (!isShape) return fields;
  return edited(fields, nodeProto.attribute, (value) => edited(value, attributeProto.t, copyingFirst));
}

/** A shape [1, ...] as [0, ...]: 0 copies the first dimension of the reshaped tensor. */
function copyingFirst(tensor: Field[]): Field[] {
  if (integerIn(tensor, tensorProto.dataType) !== int64) return tensor;
  const raw = all(tensor, tensorProto.raw)[0];
  const packed = all(tensor, tensorProto.int64s)[0];
  const values = raw ?? packed;
  const first = raw ? raw[0] === 1 && raw.subarray(1, 8).every((byte) => byte === 0) : packed?.[0] === 1;
  if (!values || !first) return tensor;
  const copy = Uint8Array.from(values); // slice() of a node Buffer does not copy
  copy[0] = 0;
  return tensor.map((field) => (field.value === values ? { ...field, value: copy } : field));
}
