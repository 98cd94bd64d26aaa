import type { Problem } from "./frames.js";

/** The server refused; `problem` says why. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail || problem.title);
    this.name = "Refused";
  }
}
