type Check = (body: unknown) => object | null;

const checks = new WeakMap<object, Check>();

/**
 * For the bodies of hot routes that carry long lists, where validating item by item through decorators costs more than
 * all the rest. The check answers the body as the decorators would leave it, or null where it is not sure; then the
 * decorators look, and say what is wrong. It may never accept what they refuse.
 */
export function QuickCheck(check: Check): ClassDecorator {
  return (target) => {
    checks.set(target, check);
  };
}

export function quickCheckOf(type: object): Check | undefined {
  return checks.get(type);
}
