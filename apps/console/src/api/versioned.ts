import { client } from './generated';

/** A response with its ETag. A change that sends it as If-Match is rejected if the resource has changed since. */
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
