/** Returns the URL without its query, which may contain a token. */
export function removeUrlQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
