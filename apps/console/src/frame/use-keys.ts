import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useCurrentUser } from '../api/session';
import { listPlacesOf } from './places';

const sequenceMs = 1200;

interface Keys {
  openPalette: () => void;
  openHelp: () => void;
  /** Receives what is typed after the palette was opened and before it is loaded. Undefined while it is closed. */
  typeEarly: ((key: string) => void) | undefined;
}

/** Shortcuts: `/` searches, `?` lists the shortcuts, `g` and a letter opens a page, Ctrl or Cmd with K the palette. */
export function useKeys(keys: Keys): void {
  const navigate = useNavigate();
  const { user } = useCurrentUser();
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    let goneAt = 0;
    const handleKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey) {
        event.preventDefault();
        return latest.current.openPalette();
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || isDialogOpen()) return;
      if (latest.current.typeEarly) {
        // Other keys, such as Tab and F5, keep their effect in case the palette cannot be loaded.
        if (event.key.length !== 1) return;
        event.preventDefault();
        return latest.current.typeEarly(event.key);
      }
      const going = event.timeStamp - goneAt < sequenceMs && goneAt > 0;
      goneAt = 0;
      if (going) {
        const place = listPlacesOf(user).find(({ letter }) => letter === event.key);
        if (place) void navigate({ to: place.to });
        return;
      }
      if (event.key === 'g') goneAt = event.timeStamp;
      else if (event.key === '?') latest.current.openHelp();
      else if (event.key === '/') {
        event.preventDefault();
        document.querySelector<HTMLInputElement>('main input[type=search]')?.focus();
      }
    };
    document.addEventListener('keydown', handleKey);
    return () => document.removeEventListener('keydown', handleKey);
  }, [navigate, user]);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))
  );
}

function isDialogOpen(): boolean {
  return document.querySelector('[role=dialog],[role=menu]') !== null;
}
