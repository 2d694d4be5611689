import { MachineError, type MachineFault } from '../machine';

const faults: Record<string, MachineFault> = {
  'InvalidInstanceID.NotFound': 'gone',
  'InvalidInstanceID.Malformed': 'misconfigured',
  RequestLimitExceeded: 'throttled',
  Throttling: 'throttled',
  ThrottlingException: 'throttled',
  RequestThrottled: 'throttled',
  AuthFailure: 'denied',
  UnauthorizedOperation: 'denied',
  OperationNotPermitted: 'denied',
  OptInRequired: 'denied',
  Blocked: 'denied',
  SignatureDoesNotMatch: 'denied',
  InvalidClientTokenId: 'denied',
  RequestExpired: 'denied',
  ExpiredToken: 'denied',
  CredentialsProviderError: 'denied',
  InsufficientInstanceCapacity: 'failed',
  InstanceLimitExceeded: 'failed',
  VcpuLimitExceeded: 'failed',
  InternalError: 'failed',
  InternalFailure: 'failed',
  Unavailable: 'failed',
  ServiceUnavailable: 'failed',
  TimeoutError: 'unreachable',
};

const messages: Partial<Record<MachineFault, string>> = {
  throttled: 'EC2 limits the rate of calls',
  denied: 'EC2 does not permit this call',
  unreachable: 'EC2 did not answer',
};

/** Converts an error of the SDK into a MachineError. */
export function toMachineError(
  error: Error & { $metadata?: { httpStatusCode?: number }; code?: string },
): MachineError {
  const status = error.$metadata?.httpStatusCode;
  const fault = faults[error.name] ?? (status === undefined ? 'unreachable' : getFaultOfStatus(status));
  const name = error.name === 'Error' ? (error.code ?? 'Error') : error.name;
  const detail = `${name}: ${error.message}`.split('\n')[0]!.slice(0, 300);
  return new MachineError(fault, `${messages[fault] ?? 'EC2 refused the call'} (${detail}).`, { cause: error });
}

function getFaultOfStatus(status: number): MachineFault {
  if (status === 401 || status === 403) return 'denied';
  if (status === 429) return 'throttled';
  return status >= 500 ? 'failed' : 'bad_answer';
}
