/**
 * Parses headers in OpenTelemetry's format `name=value,name=value`. An error names the position of a header, never its
 * value.
 */
export function parseOtlpHeaders(text: string): { headers: Record<string, string>; faults: string[] } {
  const headers: Record<string, string> = {};
  const faults: string[] = [];
  for (const [at, part] of text.split(',').entries()) {
    const [, name, value] = /^\s*([!#$%&'*+.^_`|~0-9a-z-]+)\s*=\s*([\x21-\x7e]*)\s*$/i.exec(part) ?? [];
    const decoded = value === undefined ? null : decodeHeaderValue(value);
    if (!name || decoded === null)
      faults.push(`OTEL_EXPORTER_OTLP_HEADERS: header ${at + 1} does not have the form name=value`);
    else headers[name] = decoded;
  }
  return { headers, faults };
}

function decodeHeaderValue(value: string): string | null {
  try {
    const text = decodeURIComponent(value);
    return /^[\x20-\x7e]*$/.test(text) ? text : null;
  } catch {
    return null;
  }
}
