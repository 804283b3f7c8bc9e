// SPDX-License-Identifier: MIT
// TEMPORARY: until the package has the estimator `quadrature`.
import type { Probust } from 'probust';

export const truth = { form: 'mc:20000' };
export const lookForQuadrature = ({ estimators }: Probust): void => {
  if (estimators.some(({ name }) => name === 'quadrature')) truth.form = 'quadrature';
};
