import { useCallback, useEffect, useRef } from 'react';
import { Throttle } from './throttle';

/** Calls at once, and at most once within `everyMs` and an answer; what came meanwhile is one more call at its end. */
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
