import { formDataBodySerializer } from './generated';

/** Sends a form to an operation that accepts JSON or a form; the generated client supports only the JSON. */
export function encodeAsForm(fields: Record<string, string | File | undefined>) {
  return {
    ...formDataBodySerializer,
    body: fields as never,
    // The browser sets the content type, which contains the boundary between the parts.
    headers: { 'Content-Type': null },
  };
}
