// How a secret may look in a text, for everybody who hides one. Nothing here imports anything: the worker has no classes.
/** Shorter values are words of everyday output; hiding them would hide everything. */
export const shortestSecret = 3;

/**
 * In which forms a secret stands in what must not show it: as it is, in JSON, in a URL, in base64 wherever it begins
 * there, and each longer line of it.
 */
export function formsOfSecret(secret: string): string[] {
  const lines = secret.split(/\r?\n/).map((line) => line.trim());
  const bytes = Buffer.from(secret);
  return [
    secret,
    secret.trim(),
    JSON.stringify(secret).slice(1, -1),
    // Half a surrogate pair has no place in a URL: through bytes it becomes a replacement character.
    encodeURIComponent(bytes.toString()),
    ...(lines.length > 1 ? lines.filter((line) => line.length >= 8) : []),
    ...base64FormsOf(bytes),
  ];
}

/** Any of the forms, as the source of a regular expression. */
export function patternOfForms(forms: readonly string[]): string {
  return forms.map((form) => form.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')).join('|');
}

/** What of a secret's base64 is the same whatever stands before and after it. */
function base64FormsOf(secret: Buffer): string[] {
  if (secret.length < 4) return [];
  const forms = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), secret]).toString('base64');
    return text.slice([0, 2, 3][before], Math.floor(((before + secret.length) * 8) / 6));
  });
  return [...forms, ...forms.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'))].filter(
    (form) => form.length >= 5,
  );
}
