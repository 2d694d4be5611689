import { type RefObject, useEffect, useRef } from 'react';

/**
 * Scrolls the element of the returned ref sideways, so that its child that matches `selector` is in the middle. Does so
 * each time that `current`, which says which child matches, changes.
 */
export function useVisibleCurrent<E extends HTMLElement>(selector: string, current: string): RefObject<E | null> {
  const bar = useRef<E>(null);
  useEffect(() => {
    const item = bar.current?.querySelector(selector);
    if (!bar.current || !item) return;
    const [around, inside] = [bar.current, item].map((element) => element.getBoundingClientRect());
    // Does not use scrollIntoView(), because in Chromium the next press of Tab would then start at this element instead
    // of the top of the page.
    bar.current.scrollLeft += inside!.left - around!.left - (around!.width - inside!.width) / 2;
  }, [selector, current]);
  return bar;
}
