// The beginning of the program.

import { whenSessionEnds } from "./api/calls.js";
import { followAgain } from "./api/events.js";
import { hasEnded, readPeople, resume, user } from "./api/people.js";
import { effect } from "./lib/view.js";
import { notifyFault } from "./parts/notices.js";
import "./shell/frame.js";

whenSessionEnds(() => {
  if (user.now) hasEnded.value = true;
});

effect(() => {
  if (!user.value || hasEnded.value) return;
  readPeople().catch(notifyFault);
  followAgain();
});

resume().catch((error) => {
  user.value = null;
  notifyFault(error);
});
