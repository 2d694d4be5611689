import { EnumField, IntField, ListField, TextField } from './fields';
import { type BundleFaultReason, bundleFaultReasons } from './packs/pack-words';
import { maxDetailLength, maxFieldErrors } from './shorten-text';

export class ProblemFieldError {
  @TextField({ min: 0, example: 'email' }) field!: string;
  @TextField({ max: 500, example: 'email must be an email' }) message!: string;
}

/** Problem details of RFC 9457, with an error code and the id of the request. */
class ProblemBase {
  @TextField({ example: 'https://muster.dev/errors/not_found' }) type!: string;
  @TextField({ example: 'Not found' }) title!: string;
  @IntField({ example: 404 }) status!: number;
  @TextField({ max: maxDetailLength, example: 'No such resource in this organization.' }) detail!: string;
  @TextField({ example: 'not_found' }) code!: string;
  @TextField({ max: 2000, example: '/api/users/0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e' }) instance!: string;
  @TextField({ example: 'c0ffee00c0ffee00' }) requestId!: string;
}

/** A problem, with the invalid fields of the request. */
export class Problem extends ProblemBase {
  @ListField(() => ProblemFieldError, { optional: true, maxItems: maxFieldErrors }) errors?: ProblemFieldError[];
}

export class ProblemBundleFault {
  @TextField({
    min: 0,
    max: 500,
    example: 'lib/claims.py',
    description: 'Path of the file in the bundle; empty for the archive as a whole.',
  })
  path!: string;
  @EnumField(bundleFaultReasons) reason!: BundleFaultReason;
}

/** A problem, with the errors of a rejected bundle. */
export class BundleProblem extends ProblemBase {
  @EnumField(['bundle_rejected']) override code!: 'bundle_rejected';
  @ListField(() => ProblemBundleFault, { maxItems: maxFieldErrors }) errors!: ProblemBundleFault[];
}
