import { toMachineError } from './ec2-errors';

describe('an error of the EC2 client that has no known code', () => {
  const errorWith = (httpStatusCode?: number) =>
    Object.assign(new Error('no details'), { name: 'UnlistedError', $metadata: { httpStatusCode } });

  it.each([
    [undefined, 'unreachable'],
    [401, 'denied'],
    [403, 'denied'],
    [429, 'throttled'],
    [400, 'bad_answer'],
    [499, 'bad_answer'],
    [500, 'failed'],
    [503, 'failed'],
  ])('an EC2 error without a known code and with HTTP status %s is classified as %s', (status, fault) => {
    expect(toMachineError(errorWith(status)).fault).toBe(fault);
  });
});
