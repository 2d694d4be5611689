// The forms in which a secret can appear in a text, for all code that hides secrets. This file imports nothing, so
// that the worker can use it without the classes of the contracts.
/** Minimum length of a secret that is hidden. Shorter values are common in ordinary output. */
export const shortestSecret = 3;

/**
 * Returns the forms in which a secret can appear: unchanged, trimmed, in JSON, in a URL, in base64 at any offset, and
 * each of its lines of at least 8 characters.
 */
export function listSecretForms(secret: string): string[] {
  const lines = secret.split(/\r?\n/).map((line) => line.trim());
  const bytes = Buffer.from(secret);
  return [
    secret,
    secret.trim(),
    JSON.stringify(secret).slice(1, -1),
    // encodeURIComponent throws if the text contains half of a surrogate pair. A replacement character takes its place.
    encodeURIComponent(bytes.toString()),
    ...(lines.length > 1 ? lines.filter((line) => line.length >= 8) : []),
    ...listBase64Forms(bytes),
  ];
}

/** Returns the source of a regular expression that matches any of the forms. */
export function buildFormsPattern(forms: readonly string[]): string {
  return forms.map((form) => form.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')).join('|');
}

/** Returns the parts of a secret's base64 that do not depend on the bytes before and after the secret. */
function listBase64Forms(secret: Buffer): string[] {
  if (secret.length < 4) return [];
  const forms = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), secret]).toString('base64');
    return text.slice([0, 2, 3][before], Math.floor(((before + secret.length) * 8) / 6));
  });
  return [...forms, ...forms.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'))].filter(
    (form) => form.length >= 5,
  );
}
