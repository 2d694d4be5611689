import { AppError, scimSchemas } from '@muster/contracts';

export const scimContentType = 'application/scim+json; charset=utf-8';

/** Values of `scimType` (RFC 7644, section 3.12). */
type ScimType =
  'invalidFilter' | 'invalidPath' | 'invalidSyntax' | 'invalidValue' | 'mutability' | 'noTarget' | 'uniqueness';

export function scimError(scimType: ScimType, detail: string): AppError {
  return new AppError(scimType === 'uniqueness' ? 'conflict' : 'invalid_payload', { detail, extra: { scimType } });
}

/** Adds to an error the fields and the content type that a SCIM client expects. */
export function toScimError(error: AppError | undefined): AppError {
  const { code, status, message, options } =
    error ??
    new AppError('internal_error', {
      detail: 'The service failed because of a defect, and has logged it. Try again.',
    });
  const scimType = options.extra?.['scimType'] ?? deduceScimType(code, options);
  return new AppError(code, {
    ...options,
    detail: message,
    contentType: scimContentType,
    // RFC 7644 requires the status as text.
    extra: { schemas: [scimSchemas.error], status: String(status), ...(scimType ? { scimType } : {}) },
  });
}

function deduceScimType(code: AppError['code'], { errors = [] }: AppError['options']): ScimType | undefined {
  if (code === 'conflict') return errors.some(({ field }) => field === 'email') ? 'uniqueness' : undefined;
  if (code !== 'invalid_payload') return undefined;
  return errors.length > 0 ? 'invalidValue' : 'invalidSyntax';
}
