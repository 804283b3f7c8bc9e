// SPDX-License-Identifier: MIT
// Formulas as MathML, which browsers typeset.
import { html } from 'lit';

/** p = P[argmax f(x + ε) = argmax f(x)] */
export const definition = html`<math display="block" alttext="p(x) = P[ argmax f(x + ε) = argmax f(x) ]"
  ><mi>p</mi><mo stretchy="false">(</mo><mi>x</mi><mo stretchy="false">)</mo><mo>=</mo><mi>P</mi><mo stretchy="false">[</mo
  ><mi mathvariant="normal">argmax</mi><mspace width="0.2em"></mspace><mi>f</mi><mo stretchy="false">(</mo><mi>x</mi><mo>+</mo
  ><mi>ε</mi><mo stretchy="false">)</mo><mo>=</mo><mi mathvariant="normal">argmax</mi><mspace width="0.2em"></mspace><mi>f</mi
  ><mo stretchy="false">(</mo><mi>x</mi><mo stretchy="false">)</mo><mo stretchy="false">]</mo></math
>`;

/** z = margin / (σ ‖gradient of the margin‖) */
export const distanceInSigmas = html`<math display="block" alttext="z = (f_t − f_i) / (σ ‖∇(f_t − f_i)‖)"
  ><mi>z</mi><mo>=</mo
  ><mfrac
    ><mrow
      ><msub><mi>f</mi><mi>t</mi></msub
      ><mo>−</mo><msub><mi>f</mi><mi>i</mi></msub></mrow
    ><mrow
      ><mi>σ</mi><mo stretchy="false">‖</mo><mo>∇</mo><mo stretchy="false">(</mo><msub><mi>f</mi><mi>t</mi></msub
      ><mo>−</mo><msub><mi>f</mi><mi>i</mi></msub
      ><mo stretchy="false">)</mo><mo stretchy="false">‖</mo></mrow
    ></mfrac
  ></math
>`;

/** 1 − p ≤ Σ (1 − Φ(z_i)) */
export const unionBound = html`<math display="block" alttext="1 − p ≤ Σ (1 − Φ(z_i))"
  ><mn>1</mn><mo>−</mo><mi>p</mi><mo>≤</mo><munder><mo>∑</mo><mi>i</mi></munder
  ><mo stretchy="false">(</mo><mn>1</mn><mo>−</mo><mi>Φ</mi><mo stretchy="false">(</mo><msub><mi>z</mi><mi>i</mi></msub
  ><mo stretchy="false">)</mo><mo stretchy="false">)</mo></math
>`;

/** p = Φ_R(z) */
export const orthant = html`<math display="block" alttext="p = Φ_R(z)"
  ><mi>p</mi><mo>=</mo><msub><mi>Φ</mi><mi>R</mi></msub
  ><mo stretchy="false">(</mo><mi>z</mi><mo stretchy="false">)</mo></math
>`;

/** standard error = √(p (1 − p) / N) */
export const standardError = html`<math display="block" alttext="standard error = √( p (1 − p) / N )"
  ><mtext>standard error</mtext><mo>=</mo
  ><msqrt
    ><mfrac
      ><mrow><mi>p</mi><mo stretchy="false">(</mo><mn>1</mn><mo>−</mo><mi>p</mi><mo stretchy="false">)</mo></mrow
      ><mi>N</mi></mfrac
    ></msqrt
  ></math
>`;
