const lenient = new WeakSet<object>();

/** Marks a body whose unknown fields are ignored, because workers older or newer than the service send it. */
export function IgnoreUnknownFields(): ClassDecorator {
  return (target) => {
    lenient.add(target);
  };
}

export function ignoresUnknownFields(type: object): boolean {
  return lenient.has(type);
}
