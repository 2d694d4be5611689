import { useEffect, useRef, useState } from 'react';

/**
 * State of a typed text that is stored elsewhere once typing pauses. If the stored text changes otherwise, such as by a
 * link to the same page, the typed text follows. A change that results from the typing itself does not overwrite it.
 */
export function useDelayedText(
  stored: string,
  keep: (text: string) => unknown,
  pauseMs: number,
): [text: string, type: (text: string) => void] {
  const [state, setState] = useState({ text: stored, stored, sent: stored });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const latest = useRef(keep);
  useEffect(() => {
    latest.current = keep;
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  if (state.stored !== stored) setState({ text: stored === state.sent ? state.text : stored, stored, sent: stored });
  const changeText = (text: string) => {
    setState({ ...state, text });
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const sent = text.trim();
      setState((before) => ({ ...before, sent }));
      latest.current(sent);
    }, pauseMs);
  };
  return [state.text, changeText];
}
