import {
  Bot,
  CircleDollarSign,
  Compass,
  CalendarClock,
  House,
  Inbox,
  Layers,
  ListChecks,
  type LucideIcon,
  MessageSquare,
  Package,
  Settings,
  ShieldCheck,
  Workflow,
} from 'lucide-react';
import { hasRole, type Role } from '@muster/contracts/words';

export interface Place {
  name: string;
  to:
    | '/'
    | '/inbox'
    | '/agents'
    | '/runs'
    | '/workflows'
    | '/schedules'
    | '/packs'
    | '/costs'
    | '/autopilot'
    | '/feedback'
    | '/queues'
    | '/settings'
    | '/admin';
  /** Letter that opens the page when pressed after `g`. */
  letter: string;
  icon: LucideIcon;
  /** Minimum role of the users who see the page; if absent, every user sees it. */
  from?: Role;
}

/** Pages in the main navigation, the palette and the keyboard shortcuts. */
const places: readonly Place[] = [
  { name: 'Home', to: '/', letter: 'h', icon: House },
  { name: 'Inbox', to: '/inbox', letter: 'i', icon: Inbox },
  { name: 'Agents', to: '/agents', letter: 'a', icon: Bot },
  { name: 'Runs', to: '/runs', letter: 'r', icon: ListChecks },
  { name: 'Workflows', to: '/workflows', letter: 'w', icon: Workflow },
  { name: 'Schedules', to: '/schedules', letter: 's', icon: CalendarClock },
  { name: 'Packs', to: '/packs', letter: 'p', icon: Package },
  { name: 'Costs', to: '/costs', letter: 'c', icon: CircleDollarSign },
  { name: 'Autopilot', to: '/autopilot', letter: 'o', icon: Compass },
  { name: 'Feedback', to: '/feedback', letter: 'f', icon: MessageSquare },
  { name: 'Queues', to: '/queues', letter: 'q', icon: Layers },
  { name: 'Settings', to: '/settings', letter: 'e', icon: Settings },
  { name: 'Admin', to: '/admin', letter: 'm', icon: ShieldCheck, from: 'admin' },
];

/** Returns the pages that a user of this role sees. */
export function listPlacesForRole(role: Role): readonly Place[] {
  return places.filter(({ from }) => !from || hasRole(role, from));
}
