import { useCallback, useEffect, useRef } from 'react';
import { Throttle } from './throttle';

/**
 * Returns a throttled `requestCall`. Any number of calls within `everyMs`, or until the run has ended, cause one more
 * run.
 */
export function useThrottled(call: () => unknown, everyMs: number): () => void {
  const latest = useRef(call);
  const throttle = useRef<Throttle>(undefined);
  useEffect(() => {
    latest.current = call;
  });
  useEffect(() => {
    const own = new Throttle(() => latest.current(), everyMs);
    throttle.current = own;
    return () => own.stopCalls();
  }, [everyMs]);
  return useCallback(() => throttle.current?.requestCall(), []);
}
