import { CircleAlert } from 'lucide-react';
import { getAdvice } from '../api/advice';
import { isApiError } from '../api/api-error';
import { Button } from './button';

/** An error's message and advice, with the code and the request id for a support request. */
export function ErrorNote({ error, retry }: { error: unknown; retry?: () => void }) {
  const known = isApiError(error) ? error : undefined;
  return (
    <div role="alert" className="flex items-start gap-2 rounded-control border border-bad/40 bg-bad-soft p-3">
      <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0 grow">
        <p>{known?.message ?? 'Something went wrong on this page. Reload it, or try again.'}</p>
        {known?.fields.map(({ field, message }) => (
          <p key={`${field} ${message}`}>
            <code className="font-mono text-xs">{field}</code> {message}
          </p>
        ))}
        {known && known.status !== 404 && <p className="text-dim">{getAdvice(known.code)}</p>}
        {known && (
          <p className="text-xs text-dim">
            {known.code}
            {known.requestId && ` · request ${known.requestId}`}
          </p>
        )}
      </div>
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

/** Error of a command of a machine or of a request to a model, with advice. */
export function ErrorWithAdvice({ error, code }: { error?: string | null; code?: string | null }) {
  if (!error && !code) return null;
  // A long error scrolls, and must be focusable so that it can be scrolled with the keyboard.
  const isLong = (error?.length ?? 0) > 600;
  return (
    <div className="rounded-control border border-bad/40 bg-bad-soft p-3">
      <p
        dir="auto"
        tabIndex={isLong ? 0 : undefined}
        className={`break-words whitespace-pre-wrap ${isLong ? 'max-h-60 overflow-y-auto' : ''}`}
      >
        {error || 'The action failed.'}
      </p>
      <p className="text-dim">{getAdvice(code)}</p>
      {code && <p className="text-xs text-dim">{code}</p>}
    </div>
  );
}
