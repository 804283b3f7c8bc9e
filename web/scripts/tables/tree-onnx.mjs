// SPDX-License-Identifier: MIT
// Writes a forest as an ONNX file with one TreeEnsembleClassifier or TreeEnsembleRegressor (ai.onnx.ml, version 3).

function varint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}

// Fields of the protobuf wire format.
const integer = (number, value) => Buffer.concat([varint(number << 3), varint(value)]);
const bytes = (number, value) => Buffer.concat([varint((number << 3) | 2), varint(value.length), value]);
const text = (number, value) => bytes(number, Buffer.from(value));
const message = (number, fields) => bytes(number, Buffer.concat(fields));

const packedFloats = (values) => Buffer.from(Float32Array.from(values).buffer);

// onnx.proto, AttributeProto: type 2 is an integer, 3 text, 6 floats, 7 integers, 8 texts.
const attribute = (name, fields, type) => message(5, [text(1, name), ...fields, integer(20, type)]);
const integers = (name, values) => attribute(name, [bytes(8, Buffer.concat(values.map(varint)))], 7);
const floats = (name, values) => attribute(name, [bytes(7, packedFloats(values))], 6);
const texts = (name, values) =>
  attribute(
    name,
    values.map((value) => text(9, value)),
    8,
  );
const word = (name, value) => attribute(name, [text(4, value)], 3);
const whole = (name, value) => attribute(name, [integer(3, value)], 2);

// All nodes of a forest, depth first, each with its number in its tree.
function listed(forest) {
  const nodes = [];
  forest.forEach((root, tree) => {
    let next = 0;
    const visit = (node) => {
      const entry = { tree, id: next++, low: 0, high: 0, node };
      nodes.push(entry);
      if (node.value === undefined) {
        entry.low = visit(node.low);
        entry.high = visit(node.high);
      }
      return entry.id;
    };
    visit(root);
  });
  return nodes;
}

const structure = (nodes) => [
  integers(
    'nodes_treeids',
    nodes.map(({ tree }) => tree),
  ),
  integers(
    'nodes_nodeids',
    nodes.map(({ id }) => id),
  ),
  integers(
    'nodes_featureids',
    nodes.map(({ node }) => node.column ?? 0),
  ),
  floats(
    'nodes_values',
    nodes.map(({ node }) => node.threshold ?? 0),
  ),
  texts(
    'nodes_modes',
    nodes.map(({ node }) => (node.value === undefined ? 'BRANCH_LEQ' : 'LEAF')),
  ),
  integers(
    'nodes_truenodeids',
    nodes.map(({ low }) => low),
  ),
  integers(
    'nodes_falsenodeids',
    nodes.map(({ high }) => high),
  ),
];

// The prediction of a forest is the mean over its trees.
const leavesOf = (nodes, trees) =>
  nodes.flatMap(({ tree, id, node }) =>
    (node.value ?? []).map((value, output) => ({ tree, id, output, weight: value / trees })).filter(({ weight }) => weight !== 0),
  );

function classifierNode(nodes, forest, classes) {
  const leaves = leavesOf(nodes, forest.length);
  return [
    text(1, 'x'),
    text(2, 'label'),
    text(2, 'scores'),
    text(4, 'TreeEnsembleClassifier'),
    ...structure(nodes),
    integers(
      'class_treeids',
      leaves.map(({ tree }) => tree),
    ),
    integers(
      'class_nodeids',
      leaves.map(({ id }) => id),
    ),
    integers(
      'class_ids',
      leaves.map(({ output }) => output),
    ),
    floats(
      'class_weights',
      leaves.map(({ weight }) => weight),
    ),
    integers(
      'classlabels_int64s',
      Array.from({ length: classes }, (_, i) => i),
    ),
    word('post_transform', 'NONE'),
    text(7, 'ai.onnx.ml'),
  ];
}

function regressorNode(nodes, forest) {
  const leaves = leavesOf(nodes, forest.length);
  return [
    text(1, 'x'),
    text(2, 'y'),
    text(4, 'TreeEnsembleRegressor'),
    ...structure(nodes),
    integers(
      'target_treeids',
      leaves.map(({ tree }) => tree),
    ),
    integers(
      'target_nodeids',
      leaves.map(({ id }) => id),
    ),
    integers(
      'target_ids',
      leaves.map(() => 0),
    ),
    floats(
      'target_weights',
      leaves.map(({ weight }) => weight),
    ),
    whole('n_targets', 1),
    word('aggregate_function', 'SUM'),
    word('post_transform', 'NONE'),
    text(7, 'ai.onnx.ml'),
  ];
}

const port = (name, type, dims) => {
  const shape = dims.map((dim) => message(1, [typeof dim === 'number' ? integer(1, dim) : text(2, dim)]));
  return [text(1, name), message(2, [message(1, [integer(1, type), message(2, shape)])])];
};
const [float32, int64] = [1, 7];

function model(nodes, columns, outputs, constants = []) {
  const input = message(11, port('x', float32, ['N', columns]));
  const graph = [...nodes.map((node) => message(1, node)), text(2, 'forest'), ...constants, input, ...outputs];
  const opset = (domain, version) => message(8, [...(domain ? [text(1, domain)] : []), integer(2, version)]);
  return Buffer.concat([integer(1, 8), text(2, 'probust'), message(7, graph), opset('', 13), opset('ai.onnx.ml', 3)]);
}

/** x [N, columns] -> scores [N, classes], the shares of votes. */
export const classifierModel = (forest, columns, classes) =>
  model([classifierNode(listed(forest), forest, classes)], columns, [
    message(12, port('label', int64, ['N'])),
    message(12, port('scores', float32, ['N', classes])),
  ]);

/** x [N, columns] -> y [N, 1]. */
export const regressorModel = (forest, columns) =>
  model([regressorNode(listed(forest), forest)], columns, [message(12, port('y', float32, ['N', 1]))]);

const constant = (name, rows) => {
  const shape = [integer(1, rows.length), integer(1, rows[0].length)];
  return message(5, [...shape, integer(2, float32), text(8, name), bytes(9, packedFloats(rows.flat()))]);
};

const simple = (operator, inputs, output) => [...inputs.map((name) => text(1, name)), text(2, output), text(4, operator)];

/**
 * A model of whether the forest's prediction y changes. Its input has two more columns than x: an earlier prediction a and a
 * tolerance g. The scores are 1 for "lower" if y <= a - g, 1 for "higher" if y >= a + g, and 1/2 for "within". The scores are
 * step functions, so they have no gradients along which a search for the nearest change could vary a and g.
 */
export function changeModel(forest, columns) {
  const given = [...Array.from({ length: columns }, () => [0, 0, 0]), [1, -1, 0], [-1, -1, 0]];
  const nodes = [
    regressorNode(listed(forest), forest),
    simple('MatMul', ['x', 'given'], 'limits'),
    simple('MatMul', ['y', 'signs'], 'answers'),
    simple('Add', ['limits', 'answers'], 'beyond'),
    simple('GreaterOrEqual', ['beyond', 'zero'], 'is'),
    [...simple('Cast', ['is'], 'ones'), whole('to', float32)],
    simple('Mul', ['ones', 'weights'], 'scores'),
  ];
  const constants = [
    constant('given', given),
    constant('signs', [[-1, 1, 0]]),
    constant('zero', [[0]]),
    constant('weights', [[1, 1, 0.5]]),
  ];
  return model(nodes, columns + 2, [message(12, port('scores', float32, ['N', 3]))], constants);
}
