/** Whether the host of a URL is this machine, which is the only place where http needs no encryption. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
