import { client } from './generated';

/** An answer with the tag of its version: a change that is sent with it as If-Match changes nothing newer. */
export type Versioned<T> = T & { etag: string };

export async function withEtag<T extends object>(
  ask: (options: { fetch: typeof fetch }) => Promise<T>,
): Promise<Versioned<T>> {
  const { fetch: usual = fetch } = client.getConfig();
  let etag = '*';
  const watched: typeof fetch = async (...request) => {
    const response = await usual(...request);
    etag = response.headers.get('etag') ?? '*';
    return response;
  };
  const answer = await ask({ fetch: watched });
  return { ...answer, etag };
}
