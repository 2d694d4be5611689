import { type AgentProvider, AppError, type FieldError, usdToMicros, microsToUsd } from '@muster/contracts';

/** The fields in each provider's configuration, and the field that contains the machine's name at the provider. */
const shapes: Record<AgentProvider, { fields: Record<string, Check>; ref?: string }> = {
  local: { fields: {} },
  external: { fields: {} },
  http: { fields: { baseUrl: makeTextRule(checkHttpUrl), ref: makeTextRule(checkSingleWord) }, ref: 'ref' },
  ec2: {
    fields: {
      instanceId: makeTextRule(makePatternRule(/^i-[0-9a-f]{8,17}$/)),
      region: makeTextRule(makePatternRule(/^[a-z]{2}(-[a-z]+)+-\d$/)),
    },
    ref: 'instanceId',
  },
  docker: {
    fields: { container: makeTextRule(makePatternRule(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/)), host: checkDockerHost },
    ref: 'container',
  },
};

type Check = (value: unknown) => string | null;

/** Validates the configuration. Returns it with the machine's name at its provider; throws with all errors at once. */
export function readProviderConfig(
  provider: AgentProvider,
  input: Record<string, unknown> = {},
): { config: Record<string, unknown>; ref: string | null; computeMicrosPerHour: bigint | null } {
  const { fields: own, ref } = shapes[provider];
  const fields = { ...own, hourlyUsd: checkHourlyPrice };
  const names = new Set([...Object.keys(fields), ...Object.keys(input)]);
  const errors = [...names].flatMap((name): FieldError[] => {
    const check = (fields as Record<string, Check | undefined>)[name];
    const fault = check ? check(input[name]) : `is not a field of the provider ${provider}`;
    return fault ? [{ field: `providerConfig.${name}`, message: `providerConfig.${name} ${fault}` }] : [];
  });
  if (errors.length) throw new AppError('invalid_payload', { detail: errors[0]!.message, errors });
  const { hourlyUsd } = input as { hourlyUsd?: number };
  const computeMicrosPerHour = hourlyUsd === undefined ? null : usdToMicros(hourlyUsd);
  return { config: input, ref: ref ? String(input[ref]) : null, computeMicrosPerHour };
}

function checkHourlyPrice(value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value !== 'number' || !(value >= 0 && value <= 10_000)) return 'must be a number from 0 to 10000';
  return microsToUsd(usdToMicros(value)) === value ? null : 'must have at most six decimals';
}

function makeTextRule(check: (text: string) => string | null): Check {
  return (value) => (typeof value === 'string' && value.length > 0 ? check(value) : 'must be a string');
}

function checkSingleWord(text: string): string | null {
  return /^[\w.:-]{1,200}$/.test(text) ? null : 'must have 1 to 200 letters, digits and . _ : -';
}

function makePatternRule(pattern: RegExp): (text: string) => string | null {
  return (text) => (pattern.test(text) ? null : `must match ${pattern.source}`);
}

/** Checks only the form of the URL. At each call, the outbound guard decides whether the address is allowed. */
function checkHttpUrl(text: string): string | null {
  if (text.length > 2048 || !URL.canParse(text)) return 'must be a URL';
  const { protocol, username, password, search, hash } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') return 'must start with http:// or https://';
  if (username || password) return 'must not contain credentials';
  return search || hash ? 'must not contain a query or a fragment' : null;
}

function checkDockerHost(value: unknown): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' && /^(unix:\/\/\/[\w./-]+|tcp:\/\/[\w.:[\]-]+)$/.test(value) && value.length <= 255
    ? null
    : 'must be unix:///path or tcp://host:port';
}
