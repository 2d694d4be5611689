import { useCallback, useEffect, useRef } from 'react';
import { Throttle } from './throttle';

/** Throttles a call: it runs at once, and again only after `everyMs` and its end, once for all calls in between. */
export function useThrottled(call: () => unknown, everyMs: number): () => void {
  const latest = useRef(call);
  const throttle = useRef<Throttle>(undefined);
  useEffect(() => {
    latest.current = call;
  });
  useEffect(() => {
    const own = new Throttle(() => latest.current(), everyMs);
    throttle.current = own;
    return () => own.end();
  }, [everyMs]);
  return useCallback(() => throttle.current?.call(), []);
}
