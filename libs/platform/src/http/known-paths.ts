/** The paths that the process has routes for, and their methods: for the requests that no route takes. */
export class KnownPaths {
  private readonly routes = new Map<string, { segments: string[]; methods: Set<string> }>();

  add(url: string, methods: string | string[]): void {
    const known = this.routes.get(url) ?? { segments: url.split('/'), methods: new Set<string>() };
    for (const method of [methods].flat()) known.methods.add(method);
    this.routes.set(url, known);
  }

  /** In the form of an Allow header; empty where nothing is at the path. */
  methodsAt(path: string): string {
    const segments = path.split('/', 100);
    const allowed = new Set<string>();
    for (const route of this.routes.values()) {
      if (matches(route.segments, segments)) for (const method of route.methods) allowed.add(method);
    }
    return [...allowed].sort().join(', ');
  }
}

function matches(pattern: string[], path: string[]): boolean {
  for (const [at, part] of pattern.entries()) {
    if (part === '*') return path.length > at;
    const given = path[at];
    if (given === undefined || (part.startsWith(':') ? given === '' : part !== given)) return false;
  }
  return pattern.length === path.length;
}
