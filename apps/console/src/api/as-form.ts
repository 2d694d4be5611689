import { formDataBodySerializer } from './generated';

/** For an operation that takes JSON or a form, of which the generated client knows the JSON: sends the form. */
export function asForm(fields: Record<string, string | File | undefined>) {
  return {
    ...formDataBodySerializer,
    body: fields as never,
    // The browser names the type itself, with the boundary between the parts.
    headers: { 'Content-Type': null },
  };
}
