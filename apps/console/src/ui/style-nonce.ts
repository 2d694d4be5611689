/** What this page's styles must carry (its policy says so), from the mark that the build left in index.html. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';
}
