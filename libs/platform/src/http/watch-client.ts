import type { ServerResponse } from 'node:http';
import { AppError } from '@muster/contracts';

/**
 * Returns a function that returns a signal, which aborts if the connection closes before the response is complete. The
 * signal is created at the first call, because few requests need it.
 */
export function watchClient(response: ServerResponse): () => AbortSignal {
  let gone: AbortController | undefined;
  return () => {
    if (gone) return gone.signal;
    const controller = (gone = new AbortController());
    const abortOnClose = () => {
      if (response.writableFinished) return;
      const detail = 'The client closed the connection before the request had its turn. Nothing was changed.';
      controller.abort(new AppError('request_timeout', { detail }));
    };
    if (response.destroyed) abortOnClose();
    else response.once('close', abortOnClose);
    return controller.signal;
  };
}
