/** Returns the URL without its query, which may contain a token. */
export function urlWithoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
