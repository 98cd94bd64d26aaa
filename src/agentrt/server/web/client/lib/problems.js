/** The server refused; `problem` says why. */
export class Refused extends Error {
    problem;
    constructor(problem) {
        super(problem.detail || problem.title);
        this.problem = problem;
        this.name = "Refused";
    }
}
