import { OutboundFailed, OutboundRefused } from '@muster/platform';

/** Thrown if a sign-in with a provider fails. The message is for the log and for admins, never for the browser. */
export class SsoRefused extends Error {
  override name = 'SsoRefused';
}

const noConfiguration = 'there is no OpenID configuration below the issuer at /.well-known/openid-configuration';
const wrongClient = 'it does not accept the client ID or the client secret';

/** Reasons by error code of openid-client, for those that an admin can fix in the settings. */
const reasons: Record<'discovery' | 'exchange', Record<string, string>> = {
  discovery: {
    OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED:
      'its configuration names another issuer, so check the address for a missing or additional path or slash',
    OAUTH_RESPONSE_IS_NOT_CONFORM: noConfiguration,
    OAUTH_RESPONSE_IS_NOT_JSON: noConfiguration,
  },
  exchange: { OAUTH_WWW_AUTHENTICATE_CHALLENGE: wrongClient, invalid_client: wrongClient },
};

/** Returns the error of a failed exchange with a provider. Its message contains no token and no secret. */
export function toSsoRefusal(error: unknown, step: keyof typeof reasons = 'exchange'): SsoRefused {
  if (error instanceof SsoRefused) return error;
  return new SsoRefused(describeSsoFailure(listErrorCauses(error), reasons[step]), { cause: error });
}

function describeSsoFailure(causes: Error[], known: Record<string, string>): string {
  for (const cause of causes) {
    if (cause instanceof OutboundRefused) return `${cause.message}; the operator can allow it with OUTBOUND_ALLOW`;
    if (cause instanceof OutboundFailed) return `it does not answer: ${cause.message}`;
  }
  const codes = causes.flatMap(listErrorCodes);
  const reason = codes.map((code) => known[code]).find((text) => text !== undefined);
  return reason ?? [...new Set([...causes.map(({ message }) => message), ...codes])].join(': ').slice(0, 500);
}

function listErrorCodes(error: Error & { code?: unknown; error?: unknown }): string[] {
  return [error.code, error.error].filter((code) => typeof code === 'string');
}

/** Returns the error and the errors that caused it. Other causes, such as claims, are left out. */
function listErrorCauses(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let each = error; each instanceof Error && causes.length < 5; each = each.cause) causes.push(each);
  return causes;
}
