/** The paths and methods of the process's routes, for requests that match no route. */
export class KnownPaths {
  private readonly routes = new Map<string, { segments: string[]; methods: Set<string> }>();

  addRoute(url: string, methods: string | string[]): void {
    const existing = this.routes.get(url) ?? { segments: url.split('/'), methods: new Set<string>() };
    for (const method of [methods].flat()) existing.methods.add(method);
    this.routes.set(url, existing);
  }

  /** Returns the methods of a path in the form of an Allow header; empty if the path does not exist. */
  listMethodsOfPath(path: string): string {
    const segments = path.split('/', 100);
    const allowed = new Set<string>();
    for (const route of this.routes.values()) {
      if (pathMatchesPattern(route.segments, segments)) for (const method of route.methods) allowed.add(method);
    }
    return [...allowed].sort().join(', ');
  }
}

function pathMatchesPattern(pattern: string[], path: string[]): boolean {
  for (const [at, part] of pattern.entries()) {
    if (part === '*') return path.length > at;
    const segment = path[at];
    if (segment === undefined || (part.startsWith(':') ? segment === '' : part !== segment)) return false;
  }
  return pattern.length === path.length;
}
