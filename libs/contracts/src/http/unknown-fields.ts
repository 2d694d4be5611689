const lenient = new WeakSet<object>();

/** Bodies whose unknown fields are ignored: callbacks of workers that are older or newer than the service. */
export function IgnoreUnknownFields(): ClassDecorator {
  return (target) => {
    lenient.add(target);
  };
}

export function ignoresUnknownFields(type: object): boolean {
  return lenient.has(type);
}
